/** Mocha inside a real extension host: `npm run test:host`. */
import { defineConfig } from '@vscode/test-cli';
import { fileURLToPath } from 'node:url';

export default defineConfig({
  files: 'out/host/**/*.test.cjs',
  workspaceFolder: process.env.BRANCHPOINT_TEST_WORKSPACE,
  extensionDevelopmentPath: fileURLToPath(new URL('.', import.meta.url)),
  mocha: { ui: 'bdd', timeout: 240_000 },
  useInstallation: { fromPath: fileURLToPath(new URL('test/host/code.mjs', import.meta.url)) },
});
