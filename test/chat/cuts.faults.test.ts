import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { CUT_AGENT, createCutAgent } from './cuts/cut-agent.ts';
import { CUT_CASES } from './cuts/cut-cases.ts';
import { CutRuns } from './cuts/cut-runs.ts';
import { CUT_SDKS } from './cuts/cut-user.ts';

/** `CUT_SHARE=1 npx vitest run --project faults test/chat/cuts` tries every point. */
const SHARE = Number(process.env['CUT_SHARE'] ?? 0.05);
/** ms for the points of one case. A case has up to 300 points. */
const CASE_MS = 300_000 + 1_500_000 * SHARE;
const ONLY = process.env['CUT_CASE'];
/** `CUT_SDK=7` tries one version. */
const SDK = process.env['CUT_SDK'];

let fixture: Fixture;
let runs: CutRuns;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createCutAgent()]);
  const app = aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: CUT_AGENT, replayMs: 60_000 });
  runs = new CutRuns((request) => app.fetch(request), SHARE);
});
afterAll(async () => {
  process.stdout.write(`${JSON.stringify(runs.counts)}\n`);
  await fixture.close();
});

const cases = CUT_CASES.filter(({ name }) => ONLY === undefined || name === ONLY);

describe.for(CUT_SDKS.filter((sdk) => SDK === undefined || SDK === String(sdk)))(
  'turnfold/chat with AI SDK %s',
  (sdk) => {
    test.for(cases)(
      'cuts, reloads and second tabs at any point of $name change nothing in the page',
      { timeout: CASE_MS },
      async (one) => {
        expect(await runs.findDifferences(sdk, one)).toEqual([]);
      },
    );
  },
);
