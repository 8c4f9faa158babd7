import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'mocha';
import { FILES } from '../../src/run/layout.ts';
import {
  BROWSER,
  COMMANDS,
  CATEGORY,
  LANGUAGE_TOOLS,
  PANELS,
  SETTINGS,
  TRAJECTORY,
  VIEWS,
  commandId,
} from '../../src/extension/names.ts';

interface MenuItem {
  command: string;
  when?: string;
}
interface Manifest {
  icon: string;
  activationEvents: string[];
  contributes: {
    commands: { command: string; title: string; category: string; icon: string }[];
    menus: Record<string, MenuItem[]>;
    keybindings: MenuItem[];
    views: Record<string, { id: string; icon: string }[]>;
    viewsWelcome: { view: string; contents: string }[];
    languages: { id: string }[];
    grammars: { path: string }[];
    walkthroughs: {
      icon: string;
      steps: { description: string; media: { markdown: string }; completionEvents: string[] }[];
    }[];
    customEditors: { viewType: string; selector: { filenamePattern: string }[] }[];
    languageModelTools: {
      name: string;
      modelDescription: string;
      inputSchema: { properties: Record<string, unknown>; required?: string[] };
    }[];
    configuration: {
      properties: Record<
        string,
        {
          default: unknown;
          scope: string;
          enum?: string[];
          enumDescriptions?: string[];
          markdownDescription: string;
        }
      >;
    };
  };
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const { contributes } = manifest;

describe('manifest', () => {
  it('contributes exactly the commands of the table, with their titles and icons', () => {
    const wanted = Object.entries(COMMANDS).map(([name, { title, icon }]) => [
      `branchpoint.${name}`,
      title,
      CATEGORY,
      `$(${icon})`,
    ]);
    assert.deepEqual(
      contributes.commands.map(({ command, title, category, icon }) => [command, title, category, icon]),
      wanted,
    );
  });

  it('names only commands that exist, in menus, keys and the welcome view', () => {
    const known = new Set(contributes.commands.map(({ command }) => command));
    const links = contributes.viewsWelcome.flatMap(({ contents }) =>
      [...contents.matchAll(/command:([\w.]+)/g)].map(([, command]) => command!),
    );
    const used = [
      ...Object.values(contributes.menus)
        .flat()
        .map(({ command }) => command),
      ...contributes.keybindings.map(({ command }) => command).filter(command => command !== 'actions.find'),
      ...links,
    ];
    assert.deepEqual(
      used.filter(command => !known.has(command)),
      [],
    );
    assert.ok(links.includes(commandId('openSample')));
  });

  it('contributes exactly the settings that the code reads, with a sentence for each value', () => {
    const { properties } = contributes.configuration;
    assert.deepEqual(
      Object.keys(properties).toSorted(),
      SETTINGS.map(name => `branchpoint.${name}`).toSorted(),
    );
    for (const [
      key,
      { markdownDescription, enum: values, enumDescriptions, default: value },
    ] of Object.entries(properties)) {
      assert.ok(markdownDescription.endsWith('.'), key);
      assert.equal(enumDescriptions?.length, values?.length, key);
      if (values !== undefined) assert.ok(values.includes(value as string), key);
    }
    assert.deepEqual(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations.toSorted(), [
      'branchpoint.nodePath',
      'branchpoint.runsFolders',
    ]);
  });

  it('activates only for its own views, panels and files', () => {
    assert.deepEqual(manifest.activationEvents, [
      'workspaceContains:**/*.branchpoint.json',
      ...Object.values(PANELS).map(id => `onWebviewPanel:${id}`),
    ]);
    assert.deepEqual(
      contributes.views.branchpoint!.map(({ id }) => id),
      Object.values(VIEWS),
    );
    assert.ok(contributes.languages.some(({ id }) => id === TRAJECTORY));
    assert.deepEqual(
      contributes.customEditors.map(({ viewType, selector }) => [viewType, selector[0]?.filenamePattern]),
      [[BROWSER, FILES.trees]],
    );
  });

  it('offers language models the tools of the table, each with what it reads and asks for', () => {
    assert.deepEqual(
      contributes.languageModelTools.map(({ name }) => name),
      Object.values(LANGUAGE_TOOLS),
    );
    for (const { name, modelDescription, inputSchema } of contributes.languageModelTools) {
      assert.ok(modelDescription.includes('Read-only.'), name);
      for (const key of inputSchema.required ?? [])
        assert.ok(key in inputSchema.properties, `${name} ${key}`);
    }
  });

  it('walks a newcomer through the sample, a live run, a tree, a trajectory and an evaluation, each with one button', () => {
    const [walkthrough, other] = contributes.walkthroughs;
    assert.equal(other, undefined);
    const known = new Set(contributes.commands.map(({ command }) => command));
    const buttons = walkthrough!.steps.map(({ description }) =>
      [...description.matchAll(/\(command:([\w.]+)\)/g)].map(([, command]) => command!),
    );
    assert.deepEqual(buttons.flat(), [
      'branchpoint.openSample',
      'branchpoint.trainLive',
      'branchpoint.openTree',
      'branchpoint.openTrajectory',
      'branchpoint.evaluateCheckpoint',
    ]);
    for (const { completionEvents } of walkthrough!.steps)
      for (const event of completionEvents) assert.ok(known.has(event.replace('onCommand:', '')), event);
  });

  it('names only files that are there', () => {
    const files = [
      manifest.icon,
      contributes.views.branchpoint![0]!.icon,
      ...contributes.grammars.map(({ path }) => path),
      ...contributes.walkthroughs.flatMap(({ icon, steps }) => [
        icon,
        ...steps.map(({ media }) => media.markdown),
      ]),
    ];
    assert.deepEqual(
      files.filter(file => !existsSync(file)),
      [],
    );
  });
});
