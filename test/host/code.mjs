#!/usr/bin/env node
/**
 * Stands in for the desktop `code` program, so that @vscode/test-cli runs mocha inside a real extension host without a
 * display. Tests inside can look at the workbench and act on it through the address in VSCODE_UI_DRIVER.
 */
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { format } from 'node:util';
import { assertNothingLeft } from '../leftovers.mjs';
import { hostProgram, makeHome, removeHome, startBrowser, startServer, workbenchUrl } from './workbench.mjs';

const LIMIT_MS = 10 * 60_000;
/** Lines that the workbench prints for want of a network or of native log writers. */
const NOISE =
  /^(Resolv|Creating a socket|\[(reconnection|Service Worker|AccountPolicy|AgentHost|ChatModel)|Updating additional|Creation of workbench|Timed out waiting for auth|getaddrinfo|Failed to fetch|Error: Could not locate the bindings|Extension host \(Remote\) is|No search provider)/;

const { options, folders } = parse(process.argv.slice(2));
if (options.version) console.log(hostProgram().version);
else {
  const code = await run();
  await assertNothingLeft();
  process.exit(code);
}

function parse(args) {
  const options = {};
  const folders = [];
  for (const arg of args) {
    const match = /^--([^=]+)(?:=(.*))?$/s.exec(arg);
    if (match) (options[match[1]] ??= []).push(match[2] ?? 'true');
    else folders.push(arg);
  }
  return { options, folders };
}

async function run() {
  const home = makeHome({ extensions: process.env.VSCODE_HOST_EXTENSIONS });
  const browser = await startBrowser();
  const driver = await startDriver(browser.page);
  const server = await startServer(home, { driver: true, environment: { VSCODE_UI_DRIVER: driver.address } });
  try {
    return await runTests(browser.page, server);
  } catch (error) {
    console.error(error, server.log().slice(-3000));
    return 1;
  } finally {
    await browser.close();
    driver.close();
    await server.close();
    removeHome(home);
  }
}

async function runTests(page, server) {
  const ended = new Promise(done => void page.exposeFunction('codeAutomationExit', done));
  await page.exposeFunction('codeAutomationLog', (type, args) => {
    const line = format(...args);
    if (!NOISE.test(line.trimStart()) && !line.includes('/build/Release/watchdog'))
      (type === 'error' ? console.error : console.log)(line);
  });
  const uri = path => `vscode-remote://${server.authority}${resolve(path)}`;
  const payload = ['extensionDevelopmentPath', 'extensionTestsPath'].flatMap(key =>
    (options[key] ?? []).map(path => [key, uri(path)]),
  );
  await page.goto(workbenchUrl(server, folders[0], payload));
  let timer;
  const late = new Promise(
    (_, fail) =>
      (timer = setTimeout(() => fail(new Error('The tests in the extension host did not end.')), LIMIT_MS)),
  );
  const gone = server.exited.then(code =>
    Promise.reject(new Error(`The VS Code server ended with ${code}.`)),
  );
  const code = await Promise.race([ended, late, gone]);
  clearTimeout(timer);
  gone.catch(() => 'The server is closed on purpose after the race is decided.');
  return typeof code === 'number' ? code : 1;
}

/** Answers the tests' requests about the page. */
async function startDriver(page) {
  const frameOf = async selector => {
    for (const end = Date.now() + 30_000; Date.now() < end; await page.waitForTimeout(100))
      for (const frame of page.frames())
        if (
          await frame
            .locator(selector)
            .count()
            .catch(() => 0)
        )
          return frame;
    throw new Error(`No frame shows ${selector}.`);
  };
  const where = async ({ frame }) => (frame ? frameOf(frame) : page);
  const refused = [];
  page.on('console', message => {
    if (/Content.Security.Policy/i.test(message.text())) refused.push(message.text());
  });
  const actions = {
    /** What the pages' content-security policies refused since the last time. */
    refused: () => refused.splice(0),
    hover: async ask => (await where(ask)).locator(ask.selector).first().hover(),
    screenshot: ({ path }) => page.screenshot({ path }).then(() => true),
    press: ({ key }) => page.keyboard.press(key),
    type: ({ text }) => page.keyboard.insertText(text),
    click: async ask => (await where(ask)).locator(ask.selector).first().click(),
    text: async ask => (await where(ask)).locator(ask.selector).first().innerText(),
    count: async ask => (await where(ask)).locator(ask.selector).count(),
    eval: async ask => (await where(ask)).evaluate(ask.expression),
  };
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', data => (body += data));
    request.on('end', async () => {
      try {
        const ask = JSON.parse(body);
        response.end(JSON.stringify({ ok: (await actions[ask.action](ask)) ?? null }));
      } catch (error) {
        response.statusCode = 500;
        response.end(JSON.stringify({ error: String(error) }));
      }
    });
  });
  await new Promise(done => http.listen(0, '127.0.0.1', done));
  return { address: `http://127.0.0.1:${http.address().port}/`, close: () => http.close() };
}
