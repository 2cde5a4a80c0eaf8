import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runTurnfold, spawnTurnfold, writeTemporary } from './run-turnfold.ts';

const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));
/** A worker requires REDIS_URL. */
const SET = { REDIS_URL: 'redis://localhost' };
const SOURCE = new URL('../../src', import.meta.url).pathname;

/** Writes a module with one agent per policy. */
async function writeAgents(...policies: readonly object[]): Promise<string> {
  const agents = policies.map(
    (policy, index) =>
      `{ name: 'agent-${index}', system: '', tools: [], policy: ${JSON.stringify(policy)}, model: scriptedModel({ decide: () => ({ content: '' }) }) }`,
  );
  return await writeTemporary(
    'agents.ts',
    `import { scriptedModel } from '${SOURCE}/providers/scripted.ts';\nexport const agents = [${agents.join(', ')}];`,
  );
}

describe('config check', () => {
  test('turnfold config check reports valid settings and files, and warns about a missing REDIS_URL', async () => {
    const policy = await writeTemporary('policy.yaml', 'retention_window: 4');
    const args = ['config', 'check', '--policy', policy, '--agents', AGENTS];
    const ok = `ok       valid: the environment, ${policy}, ${AGENTS}\n`;
    const run = await runTurnfold(args, { env: SET });
    expect(run).toMatchObject({ code: 0, stderr: '', stdout: ok });
    // The check may run on a machine without workers, so a missing REDIS_URL is only a warning.
    const elsewhere = await runTurnfold(args);
    expect(elsewhere).toMatchObject({ code: 0, stdout: `warning  REDIS_URL: not set, but a worker needs it\n${ok}` });
  });

  test('turnfold config check warns about models that will soon be retired', async () => {
    const agents = await writeTemporary(
      'agents.ts',
      `import { scriptedModel } from '${SOURCE}/providers/scripted.ts';
const { profile, ...model } = scriptedModel({ decide: () => ({ content: '' }) });
const retiring = { ...model, profile: { ...profile, id: 'old', retiresOn: '2020-01-31' } };
export const agents = [{ name: 'agent', system: '', tools: [], policy: {}, model: retiring }];`,
    );
    const run = await runTurnfold(['config', 'check', '--agents', agents], { env: SET });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain(`warning  ${agents}: model old was retired on 2020-01-31`);
  });

  test('turnfold config check does not check agents under a policy that cannot be read', async () => {
    const agents = await writeAgents({ tokenThreshold: 7_000 });
    const good = 'max_tokens: 5000';
    const check = async (live: string, tried: string): Promise<string[]> => {
      const [policy, shadow] = [await writeTemporary('policy.yaml', live), await writeTemporary('shadow.yaml', tried)];
      const args = ['--policy', policy, '--shadow', shadow, '--agents', agents];
      const run = await runTurnfold(['config', 'check', '--json', ...args]);
      return (JSON.parse(run.stdout) as { errors: { field: string }[] }).errors.map(({ field }) => field);
    };
    expect(await check(good, good)).toEqual([]);
    expect(await check(`${good}\nstrategey: eviction`, good)).toEqual(['strategey']);
    expect(await check(good, `${good}\nstrategey: eviction`)).toEqual(['strategey']);
  });

  test('turnfold config check reports the problems of all settings and files without their values', async () => {
    const policy = await writeTemporary('policy.yaml', 'max_tokens: s3cret\nhard_ratio: 3\ntokens: 1\ntransforms: []');
    const agents = await writeAgents({ typo: 1 }, {});
    const env = { REDIS_URL: 's3cret', TURNFOLD_SHARDS: 's3cret', TURNFOLD_SHADRS: '5' };
    const run = await runTurnfold(['config', 'check', '--json', '--policy', policy, '--agents', agents], { env });
    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.stdout).not.toContain('s3cret');
    const { errors, warnings } = JSON.parse(run.stdout) as { errors: { field: string }[]; warnings: string[] };
    expect(errors.map(({ field }) => field)).toEqual([
      'REDIS_URL',
      'TURNFOLD_SHARDS',
      'tokens',
      'max_tokens',
      'hard_ratio',
      'agents.agent-0.policy.typo',
    ]);
    expect(warnings).toEqual(['TURNFOLD_SHADRS: unknown setting', expect.stringContaining('`transforms` is retired')]);
  });

  test('turnfold config check validates the policies of agents like a policy file', async () => {
    const wrong = { max_tokens: 1_000, thresholdRatio: 85, retention_window: -3, strategy: 'foo', typo: 1 };
    const agents = await writeAgents(wrong, { transforms: [] }, { max_tokens: 200, token_threshold: 20 });
    const run = await runTurnfold(['config', 'check', '--json', '--agents', agents], { env: SET });
    const { errors, warnings } = JSON.parse(run.stdout) as { errors: { field: string }[]; warnings: string[] };
    expect(errors.map(({ field }) => field)).toEqual([
      'agents.agent-0.policy.typo',
      'agents.agent-0.policy.thresholdRatio',
      'agents.agent-0.policy.retention_window',
      'agents.agent-0.policy.strategy',
      'agents.agent-2.tokenThreshold',
    ]);
    expect(warnings).toEqual([expect.stringContaining('agents.agent-1.policy: `transforms` is retired')]);
  });

  test('turnfold config check names file and line of an invalid setting', async () => {
    const policy = await writeTemporary('policy.yaml', 'strategey: none\ntransforms: []');
    const shadow = await writeTemporary('shadow.yaml', 'tokens: 1');
    const run = await runTurnfold(['config', 'check', '--policy', policy, '--shadow', shadow]);
    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.stdout.split('\n').slice(0, 3)).toEqual([
      `wrong    invalid_policy: ${policy}:1: strategey: a policy has no such setting`,
      `wrong    invalid_policy: ${shadow}:1: tokens: a policy has no such setting`,
      `warning  ${policy}: \`transforms\` is retired and ignored. Put the settings under \`compact\``,
    ]);
  });

  test.each(['--policy', '--shadow'])(
    'turnfold config check without agents checks whether the limits in the policy file of %s can work',
    async (option) => {
      const file = await writeTemporary('policy.yaml', 'token_threshold: 100\nmax_tokens: 6000');
      const run = await runTurnfold(['config', 'check', option, file]);
      expect(run).toMatchObject({ code: 1, stderr: '' });
      expect(run.stdout).toMatch(new RegExp(`^wrong    invalid_policy: ${file}:1: token_threshold: `));
      const agents = await writeAgents({ tokenThreshold: 12_000 });
      const merged = await runTurnfold(['config', 'check', option, file, '--agents', agents]);
      expect(merged.code).toBe(option === '--policy' ? 0 : 1);
    },
  );

  test('turnfold config check reports what keeps a worker from starting, with the error text of the worker', async () => {
    const wrong = [{ summarizer: { models: ['anthropic/claude-haiku-5-5'] } }, { summarizer: 'native' }, {}];
    const agents = await writeAgents(...wrong);
    const shadow = await writeTemporary('shadow.yaml', 'token_threshold: 30000\nmax_tokens: 20000');
    const args = ['--agents', agents, '--shadow', shadow];
    const run = await runTurnfold(['config', 'check', ...args]);
    const findings = run.stdout.split('\n').filter((line) => line.startsWith('wrong'));
    expect(findings).toEqual([
      expect.stringContaining(
        'invalid_policy: agents.agent-0.policy.summarizer.models[0]: ANTHROPIC_API_KEY: not set, but ',
      ),
      expect.stringContaining('invalid_policy: agents.agent-1.policy.summarizer: native: '),
      ...[0, 1, 2].map(
        (n) =>
          expect.stringContaining(
            `invalid_policy: ${shadow}:1: token_threshold: agent agent-${n}: token_threshold `,
          ) as string,
      ),
    ]);
    const env = { REDIS_URL: 'redis://127.0.0.1:1' };
    const worker = await runTurnfold(['worker', ...args], { env });
    expect(`wrong    ${worker.stderr.replace(/^turnfold: /, '').trim()}`).toBe(findings[0]);
    const others = ['--roles', 'turn,compaction'];
    const unsummarized = await runTurnfold(['worker', ...args, ...others], { env });
    const checked = await runTurnfold(['config', 'check', ...args, ...others]);
    const [first = ''] = checked.stdout.split('\n');
    expect(first).toContain(`${shadow}:1: token_threshold: agent agent-0: `);
    expect(`wrong    ${unsummarized.stderr.replace(/^turnfold: /, '').trim()}`).toBe(first);
  });

  test.each([
    ['a missing policy file', ['--policy', '/nowhere/policy.yaml'], 'not_found: /nowhere/policy.yaml'],
    ['a missing agents module', ['--agents', '/nowhere/agents.ts'], 'invalid_config: --agents'],
  ])('turnfold config check reports %s as a problem', async (_, args, says) => {
    const run = await runTurnfold(['config', 'check', ...args]);
    expect(run.code).toBe(1);
    expect(run.stdout).toContain(`wrong    ${says}`);
  });

  test('turnfold config check names --agents if the module exports no list of agents', async () => {
    const agents = await writeTemporary('agents.ts', 'export const agents = 5;');
    const run = await runTurnfold(['config', 'check', '--agents', agents], { env: SET });
    expect(run.stdout).toBe(
      'wrong    invalid_config: --agents: expected a list of agents, such as [defineAgent({…})]\n',
    );
  });

  test.each(["import 'node:fs';", ''])(
    'turnfold config check explains how to load an agents module in a CommonJS package: %j',
    async (first) => {
      const agents = await writeTemporary('agents.ts', `${first}\nexport const agents = [];`);
      await writeFile(join(dirname(agents), 'package.json'), '{"type": "commonjs"}');
      const run = await spawnTurnfold(['config', 'check', '--agents', agents], { env: SET });
      expect(run.stdout).toContain('. Add "type": "module" to the package.json of the module');
    },
  );

  test('turnfold config check reports all problems of an agents module', async () => {
    const agents = await writeTemporary('agents.ts', 'export const agents = [{ name: 5 }, { system: 5 }];');
    const run = await runTurnfold(['config', 'check', '--agents', agents]);
    for (const field of ['agents[0].name', 'agents[0].model', 'agents[1].system', 'agents[1].policy']) {
      expect(run.stdout).toContain(`invalid_config: ${field}: `);
    }
  });
});

test('turnfold config print shows the value and origin of each setting, and no secret', async () => {
  const file = await writeTemporary('redis', 'redis://:s3cret@redis/1\n');
  const env = { REDIS_URL_FILE: file, OPENAI_API_KEY: 's3cret', TURNFOLD_METRICS_PORT: '' };
  const run = await runTurnfold(['config', 'print'], { env });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).toMatch(/^REDIS_URL +file +redis:\/\/\*\*\*@redis\/1$/m);
  expect(run.stdout).toMatch(/^OPENAI_API_KEY +env +\*\*\*$/m);
  expect(run.stdout).toMatch(/^TURNFOLD_METRICS_PORT +default +9464$/m);
  expect(run.stdout).not.toContain('s3cret');

  const json = await runTurnfold(['config', 'print', '--json'], { env: { ...env, TURNFOLD_SHARDS: 's3cret' } });
  expect(json.code).toBe(1);
  expect(json.stdout).not.toContain('s3cret');
  expect(JSON.parse(json.stdout)).toContainEqual({ name: 'REDIS_URL', value: 'redis://***@redis/1', origin: 'file' });
});

test.each([
  [['schema'], 'Environment of turnfold'],
  [['schema', 'settings'], 'Environment of turnfold'],
  [['schema', 'policy'], 'Policy of turnfold'],
])('turnfold config %j prints a JSON Schema', async (args, title) => {
  const run = await runTurnfold(['config', ...args]);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(run.stdout)).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema', title });
});

test('turnfold config schema refuses an unknown schema', async () => {
  const run = await runTurnfold(['config', 'schema', 'agents']);
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toContain("invalid_input: schema: expected settings or policy, got 'agents'");
});
