/** The JSON schema of a config, by which editors complete, explain and check it. Derived from the table of keys alone. */
import type { AnyKey, ConfigKey } from './configKeys.ts';
import { isRequired, PRESETS, keyNames, keyOf } from './configKeys.ts';

/** A draft-07 schema; `enumDescriptions`, `allowComments` and `allowTrailingCommas` are VS Code's additions. */
export interface Schema {
  [keyword: string]: unknown;
  properties?: Record<string, Schema>;
}

/** Draft-07 schema of NAME.branchpoint.json. */
export function jsonSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Branchpoint run configuration',
    allowComments: true,
    allowTrailingCommas: true,
    ...group(''),
  };
}

/** Schema of the object whose keys all begin with the prefix. */
function group(prefix: string): Schema {
  const properties: Record<string, Schema> =
    prefix === '' ? { $schema: { type: 'string', description: 'Schema of this file.' } } : {};
  const required: string[] = [];
  for (const key of keyNames.filter(name => name.startsWith(prefix))) {
    const [name = '', ...rest] = key.slice(prefix.length).split('.');
    if (properties[name]) continue;
    properties[name] = rest.length > 0 ? group(`${prefix}${name}.`) : leaf(key);
    if (isNeeded(rest.length > 0 ? `${prefix}${name}.` : key)) required.push(name);
  }
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length > 0 && { required }),
  };
}

/** Whether the key, or a key below the prefix, has no default. */
const isNeeded = (prefix: string): boolean => keyNames.some(key => key.startsWith(prefix) && isRequired(key));

function leaf(key: ConfigKey): Schema {
  const spec = keyOf(key);
  return {
    ...shape(spec),
    description: explain(key, spec),
    ...(!isRequired(key) && { default: spec.default }),
  };
}

function shape(spec: AnyKey): Schema {
  switch (spec.kind) {
    case 'words':
      return { type: 'array', items: { type: 'string' } };
    case 'counts':
      return {
        type: 'object',
        additionalProperties: { type: 'integer', minimum: spec.minimum, maximum: spec.maximum },
      };
    case 'list':
      return { type: 'array', items: itemShape(spec.items) };
    case 'boolean':
      return { type: 'boolean' };
    case 'choice':
      return {
        type: 'string',
        enum: Object.keys(spec.choices),
        enumDescriptions: Object.values(spec.choices),
      };
    case 'text':
      return {
        type: 'string',
        ...(spec.isRequired && { minLength: 1 }),
        ...(spec.pattern && { pattern: spec.pattern }),
      };
    case 'integer':
    case 'number': {
      const from = spec.aboveMinimum ? { exclusiveMinimum: spec.minimum } : { minimum: spec.minimum };
      return { type: spec.kind, ...from, maximum: spec.maximum };
    }
  }
}

function itemShape(items: Readonly<Record<string, AnyKey>>): Schema {
  const properties = Object.entries(items).map(([name, spec]): [string, Schema] => [
    name,
    { ...shape(spec), description: spec.description },
  ]);
  const required = Object.keys(items).filter(name => {
    const spec = items[name]!;
    return spec.kind === 'text' && spec.isRequired && spec.default === '';
  });
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties),
    required,
  };
}

/** The key's sentence, its place in the paper, and what the presets make of it. */
function explain(key: ConfigKey, spec: AnyKey): string {
  const place = [spec.symbol && `symbol ${spec.symbol}`, spec.section && `section “${spec.section}”`].filter(
    Boolean,
  );
  const paper = place.length > 0 ? ` (Paper: ${place.join(', ')}.)` : '';
  return spec.description + paper + presetsOf(key);
}

/** What the presets make of a key, those of equal value together. */
function presetsOf(key: ConfigKey): string {
  const named = new Map<string, string[]>();
  for (const [preset, values] of Object.entries(PRESETS)) {
    const value = values[key];
    if (value === undefined) continue;
    const shown = typeof value === 'object' ? JSON.stringify(value) : String(value);
    named.set(shown, [...(named.get(shown) ?? []), preset]);
  }
  return Array.from(named, ([value, presets]) =>
    presets.length === 1 ? ` Preset ${presets[0]}: ${value}.` : ` Presets ${presets.join(', ')}: ${value}.`,
  ).join('');
}
