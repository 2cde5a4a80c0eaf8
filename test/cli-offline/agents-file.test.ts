import { expect, test } from 'vitest';
import { examineModule } from '../../src/cli/load-agents.ts';
import { writeTemporary } from '../cli/run-turnfold.ts';

test.each([
  ['only a default export', 'export default [];', 'default'],
  ['exports of other names', 'export const agent = {};\nexport const bots = [];', 'agent, bots'],
  ['no export', '', 'nothing'],
])('an agents file with %s is refused because it does not export `agents`', async (_, code, exported) => {
  const path = await writeTemporary('agents.mjs', code);
  const { problems } = await examineModule(path);
  expect(problems.map(({ message }) => message)).toEqual([
    `--agents: ${path} exports ${exported}, but not \`agents\`. Write: export const agents = [defineAgent({…})]`,
  ]);
});
