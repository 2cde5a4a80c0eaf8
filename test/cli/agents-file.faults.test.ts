import { expect, test } from 'vitest';
import { examineModule } from '../../src/cli/load-agents.ts';
import { errorOf } from '../domain/error-of.ts';
import { endOf, startTurnfold, writeTemporary } from './run-turnfold.ts';

const AGENT = `
import { fileURLToPath } from 'node:url';
const profile = { id: 'm', encoding: 'o200k_base', windowTokens: 32000, outputCapTokens: 4000, upperBoundFactor: 1 };
const model = { profile, generate: async () => ({ content: 'x', toolCalls: [] }) };
export const agents = [{ name: 'a', system: '', model, tools: [], policy: {} }];
`;

async function check(code: string) {
  const path = await writeTemporary('agents.mjs', code);
  const child = startTurnfold(['config', 'check', '--agents', path], { REDIS_URL: 'redis://localhost' });
  child.stdin?.end();
  return { path, ...(await endOf(child)) };
}

test('a command ends although its agents file left a timer or server open, and names the file', async () => {
  const open = `import { createServer } from 'node:net';\ncreateServer().listen(0);\nsetInterval(() => {}, 1000);`;
  const { path, code, stdout, stderr } = await check(`${open}\n${AGENT}`);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `turnfold: ${path} left a timer, server or connection open. The process was stopped.\n`,
  });
  expect(stdout).toContain('valid');
});

test('a command prints nothing about an agents file that left nothing open', async () => {
  expect(await check(AGENT)).toMatchObject({ code: 0, stderr: '' });
});

test('a command ends with one error for an invalid agents file that keeps the event loop alive', async () => {
  const { code, stdout, stderr } = await check('setInterval(() => {}, 1000);\nexport const agents = 5;');
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toContain('invalid_config: --agents: expected a list of agents, such as [defineAgent({…})]');
});

test.each<[string, string, string]>([
  ['waits for ever', 'await new Promise(() => {});', 'a top-level await in the module never settles'],
  ['exports a function named then', 'export function then() {}', 'a top-level await in the module never settles'],
  ['throws an object without a prototype', 'throw Object.create(null);', 'no message'],
  ['throws undefined', 'throw undefined;', 'undefined'],
  ['throws a symbol', 'throw Symbol("odd");', 'Symbol(odd)'],
  ['throws an error whose message throws', 'throw { get message() { throw 1; } };', 'no message'],
  [
    'throws an error with a terminal escape sequence',
    'throw new Error("\\u001b]0;title\\u0007");',
    String.raw`\u001b]0;title\u0007`,
  ],
])('the error of a command is one line that names the agents file if the file %s', async (_, code, why) => {
  const run = await check(code);
  expect(run.stdout + run.stderr).toContain(`invalid_config: --agents: ${run.path} cannot be loaded: ${why}\n`);
  expect(run.code).toBe(1);
});

test('a command exits with 1 if its agents file ends the process at import', async () => {
  const { path, code, stderr } = await check('process.exit(0);');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `turnfold: invalid_config: --agents: ${path} ended the process while it was loaded\n`,
  });
});

test('turnfold config check reports the agents whose properties throw when they are read', async () => {
  const proxy = 'new Proxy({}, { get() { throw 1; }, getOwnPropertyDescriptor() { throw 1; } })';
  for (const agents of [`[${proxy}]`, '[{ name: "a", get model() { throw 1; } }]']) {
    const { code, stdout } = await check(`export const agents = ${agents};`);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^wrong {4}invalid_config: agents/);
  }
});

test('a command exits with 70 and one error for an unhandled rejection of its agents file', async () => {
  const { code, stderr } = await check(
    `Promise.reject(Object.create(null));\nawait new Promise(setImmediate);\n${AGENT}`,
  );
  expect(code).toBe(70);
  expect(stderr).toMatch(/^turnfold: /);
});

test('loading an agents file fails at its time limit if a top-level await never settles', async () => {
  const path = await writeTemporary('agents.mjs', 'setInterval(() => {}, 1000).unref();\nawait new Promise(() => {});');
  const error = await examineModule(path, 50).catch((reason: unknown) => reason);
  expect(
    errorOf(() => {
      throw error;
    }),
  ).toMatchObject({
    code: 'invalid_config',
    field: '--agents',
    message: `--agents: ${path} cannot be loaded: a top-level await in the module has not settled within 0.05 s`,
  });
});
