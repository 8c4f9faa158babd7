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

/**
 * The same without refusals, for an editor that is told by the extension what is wrong, and how to mend it: completion and
 * hover are as before, and no problem is shown twice.
 */
export function editorSchema(): Schema {
  return { ...lenient(jsonSchema()), $schema: 'http://json-schema.org/draft-07/schema#' };
}

/** A schema that every value fits: what a value should be stands beside the schema of anything. */
function lenient(schema: Schema): Schema {
  const { type: _, required: __, additionalProperties: ___, properties, ...rest } = schema;
  if (properties === undefined) {
    const { description, default: value, examples, ...shape } = schema;
    const about = { description, default: value, examples };
    const said = Object.fromEntries(Object.entries(about).filter(([, what]) => what !== undefined));
    return { ...said, anyOf: [shape, {}] };
  }
  const inside = Object.entries(properties).map(([name, child]) => [name, lenient(child)] as const);
  return { ...rest, properties: Object.fromEntries(inside) };
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
    ...(spec.kind === 'text' && spec.example !== undefined && { examples: [spec.example] }),
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

/** The key's sentence, its place in the paper, its default, and what the presets make of it. */
function explain(key: ConfigKey, spec: AnyKey): string {
  const place = [spec.symbol && `symbol ${spec.symbol}`, spec.section && `section “${spec.section}”`].filter(
    Boolean,
  );
  const paper = place.length > 0 ? ` (Paper: ${place.join(', ')}.)` : '';
  const usual = isRequired(key) ? ' Must be given.' : ` Default: ${JSON.stringify(spec.default)}.`;
  return spec.description + paper + usual + presetsOf(key);
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
