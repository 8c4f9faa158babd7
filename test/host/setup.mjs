/**
 * Makes what the tests in a real VS Code need, once, outside the checkout: a VS Code server with its Node from the npm
 * registry, and a browser. Prints the folder. Knows nothing of Branchpoint. On a system where it cannot install the browser
 * it says in one sentence what to install.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, platform } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The VS Code of now and the oldest that package.json admits, each with the Node that it brings along. */
const HOSTS = {
  current: { server: '4.139.1', node: '24.21.0' },
  minimum: { server: '4.104.0', node: '22.23.5' },
};
/** Where Debian, Ubuntu, Fedora and Arch put their Chromium, and where a user may say that it is. */
const BROWSERS = [
  process.env.CHROMIUM,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

export const findBrowser = () => BROWSERS.find(path => path && existsSync(path));

/** Folder of an installed host, `current` or `minimum`; installs it first where it is missing. */
export function setUpHost(which = 'current') {
  if (platform() !== 'linux' || process.arch !== 'x64')
    throw new Error(
      'The tests in a real VS Code run on Linux x64 only; `npm run test:unit` runs everywhere.',
    );
  installBrowser();
  const { server, node } = HOSTS[which];
  const folder = join(
    process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
    'branchpoint-vscode-host',
    `${server}-${node}`,
  );
  if (!existsSync(join(folder, 'ready'))) installServer(folder, HOSTS[which]);
  return folder;
}

function installBrowser() {
  if (findBrowser()) return;
  const hint =
    'The end-to-end tests need Chromium: install the package `chromium-headless-shell` or `chromium`, or set CHROMIUM to its path.';
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(hint);
  console.error('Installing Chromium from Debian’s packages (about 80 MB) …');
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args) =>
    execFileSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env: environment });
  apt('update');
  apt('install', '-y', '--no-install-recommends', 'chromium-headless-shell', 'fonts-dejavu-core');
  if (!findBrowser()) throw new Error(hint);
}

function installServer(folder, versions) {
  console.error(`Installing a VS Code server for the tests (${versions.server}, up to 800 MB, once) …`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'vscode-host', private: true, version: '0.0.0' }),
  );
  const node = join(folder, 'node_modules', `node-linux-${process.arch}`);
  const environment = {
    ...process.env,
    PATH: join(node, 'bin') + delimiter + process.env.PATH,
    npm_config_nodedir: node,
  };
  // Lifecycle scripts are off: they would build and download what a headless host does not need.
  const npm = (cwd, ...args) =>
    execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'], {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: environment,
    });
  npm(folder, 'install', `code-server@${versions.server}`, `node-linux-${process.arch}@${versions.node}`);
  const server = join(folder, 'node_modules/code-server/lib/vscode');
  npm(server, 'install', '--omit=dev');
  npm(join(server, 'extensions'), 'install', '--omit=dev');
  link('code-linux.sh', join(server, 'bin/remote-cli/code-server'));
  link('browser-linux.sh', join(server, 'bin/helpers/browser.sh'));
  writeFileSync(join(folder, 'ready'), '');
}

function link(target, path) {
  rmSync(path, { force: true });
  symlinkSync(target, path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(setUpHost());
