import { expect, test } from 'vitest';
import { importFile } from '../../src/cli/commands/transfer.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { collectOutput, writeTemporary } from '../cli/run-turnfold.ts';
import { createMemoryClient } from '../client/memory-client.ts';
import { nestDeeply } from '../fakes/hostile-values.ts';

const wordError = (error: unknown): unknown => error;
const said = (content: string): object => ({ role: 'user', content });
/** More than one batch of an import. */
const many = Array.from({ length: 600 }, (_, index) => said(`message ${index}`));

test.each<[string, object, string]>([
  ['a message that is too large', said('x'.repeat(1_100_000)), 'message_too_large: messages[600]: '],
  [
    'a result without its call',
    { role: 'tool', content: '', toolCallId: 'c9' },
    'orphan_result: messages[600].toolCallId: ',
  ],
  [
    'a deeply nested part',
    { role: 'user', content: [{ type: 'odd', in: nestDeeply(1_000) }] },
    'line 2: nested more than 200 levels deep',
  ],
])(
  'turnfold import writes nothing of a conversation that has %s among the messages of its second batch',
  async (_, wrong, why) => {
    const path = await writeTemporary('talks.jsonl', [
      { id: 'good', messages: many },
      { id: 'bad', messages: [...many, wrong] },
    ]);
    const { store } = await openEmbeddedStore();
    const { output, printed } = collectOutput();
    const context = { client: createMemoryClient(store), output, wordError };
    expect(await importFile(context, path, { agent: 'a', tenant: '_' })).toBe(1);
    expect(await store.readConversation({ tenant: '_', id: 'bad' }), 'nothing of it is written').toBeUndefined();
    expect((await store.readConversation({ tenant: '_', id: 'good' }))?.head).toBe(600);
    expect(printed).toEqual({ stdout: 'good  600 messages\n', stderr: expect.stringContaining(why) as string });
  },
);

test('turnfold import reports a file that holds no conversations once, not line by line', async () => {
  const path = await writeTemporary('package.json', '{\n  "name": "x",\n  "version": "1"\n}\n');
  const { store } = await openEmbeddedStore();
  const { output, printed } = collectOutput();
  const context = { client: createMemoryClient(store), output, wordError };
  const imported = importFile(context, path, { agent: 'a', tenant: '_' });
  await expect(imported).rejects.toMatchObject({
    code: 'invalid_input',
    field: path,
    message: expect.stringMatching(
      /package\.json: in no known format\. Known formats: one conversation per line, .*claude-code/,
    ) as string,
  });
  expect(printed).toEqual({ stdout: '', stderr: '' });
});
