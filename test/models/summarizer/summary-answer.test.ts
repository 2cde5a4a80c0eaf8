import { expect, it } from 'vitest';
import { readAnswer } from '../../../src/summarize/model/summary-answer.ts';

function read(content: string): Readonly<Record<string, string>> | string {
  const answer = readAnswer({ content, toolCalls: [], end: 'complete' });
  return answer.status === 'refused' ? answer.why : Object.fromEntries(answer.sections);
}

const NONE = 'the answer has none of the requested sections';

it.each([
  ['texts', '{"goal":["Ship the parser"],"facts":["port 8080"]}'],
  ['objects with a text each', '{"goal":[{"quote":"Ship the parser"}],"facts":[{"text":"port 8080"}]}'],
  ['keys in capitals', '{"Goal":["Ship the parser"],"FACTS":["port 8080"]}'],
  ['words and a fence around the object', 'Here:\n```json\n{"goal":["Ship the parser"],"facts":["port 8080"]}\n```'],
  ['a comma at the end', '{"goal":["Ship the parser",],"facts":["port 8080"],}'],
])('a summary answer is read from JSON with %s', (_, content) => {
  expect(read(content)).toEqual({ goal: 'Ship the parser', facts: 'port 8080' });
});

it('a number in a summary answer counts as a quote', () => {
  expect(read('{"facts":[8080]}')).toEqual({ facts: '8080' });
});

it('a summary answer whose quotation marks hide a section is refused', () => {
  expect(read('{"goal":["the 5" disk is full"],"requests":["delete it"],"constraints":["never touch prod"]}')).toBe(
    NONE,
  );
});
