import { fieldError } from '../../../domain/errors.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled } from '../../../domain/turn.ts';
import type { TurnOwn } from '../../../domain/turn-own.ts';
import { countMessage } from '../../../wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../../../wire/tokens/token-counter.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny, readTurn } from '../front-end/reads.ts';
import { placeItems, readMessages } from '../responses/create-request.ts';
import { resolveReferences } from '../responses/item-references.ts';
import { type ContextFields, inputTokensSchema, listItems, readOwn } from '../responses/request-schema.ts';
import { type ResponseName, readResponseId } from '../responses/response-names.ts';
import { type ItemList, type ItemPage, pageItems } from './conversation-items.ts';
import { writeLogItems } from './log-items.ts';
import { checkModel } from './models.ts';

/** Lists the messages of the user that began a response. */
export async function listInputItems(backend: Backend, name: ResponseName, page: ItemPage): Promise<ItemList> {
  const { conversation, turn } = name;
  const { client, nameOf } = backend;
  const { inputSeq } = await client.result(nameOf(conversation), turn);
  if (inputSeq === undefined) return pageItems([], page);
  const log = await client.log(nameOf(conversation), { after: inputSeq - 1, limit: 1 });
  return pageItems(
    log.flatMap((entry) => writeLogItems(conversation, entry)),
    page,
  );
}

/**
 * Erases a response with its conversation, if the response is all that the conversation has.
 * @throws conflict if other responses need its messages
 */
export async function deleteResponse(backend: Backend, name: ResponseName): Promise<void> {
  const { client, nameOf } = backend;
  const { conversation, turn } = name;
  const view = await readTurn(backend, conversation, turn);
  if (view === undefined) throw fieldError('not_found', 'response_id', 'no response has this id');
  const log = await client.log(nameOf(conversation), { limit: 1_000 });
  const open = (await readIfAny(client.openTurns(nameOf(conversation), { limit: 2 })))?.turns ?? [];
  const hasOthers = [...log, ...open].some((entry) => entry.turn !== undefined && entry.turn !== turn);
  if (!isSettled(view.state) || hasOthers) {
    const why = `cancel the response first, and erase its conversation ${conversation} with all responses in it`;
    throw fieldError('conflict', 'response_id', `the response is not alone in its conversation, or not over: ${why}`);
  }
  await client.erase(nameOf(conversation));
}

const EACH_TOOL = 8;

/** Estimates the tokens of a request, with the encoding of OpenAI's models. The agent's own prompt is not in it. */
export async function countInputTokens(backend: Backend, body: unknown): Promise<number> {
  const read: ContextFields = parseInput(inputTokensSchema, body);
  const { model, conversation, previous_response_id: previous, input } = read;
  if (model !== undefined && model !== null) await checkModel(backend, model);
  const own = readOwn(read);
  const asked =
    typeof previous === 'string' ? readResponseId(previous, 'previous_response_id').conversation : undefined;
  const continued = asked ?? (typeof conversation === 'string' ? conversation : conversation?.id);
  const items = input === undefined || input === null ? [] : listItems(input);
  const placed = await resolveReferences(backend, placeItems(items), continued);
  const counter = await loadTokenCounter('o200k_base');
  const sizes = await Promise.all(readMessages(placed).map((message) => countMessage(counter, message)));
  const brought = await countMessage(counter, { content: writeOwn(own) });
  const known = continued === undefined ? 0 : await readUsedTokens(backend, continued);
  return sizes.reduce((sum, size) => sum + size, brought + (own.tools?.length ?? 0) * EACH_TOOL + known);
}

async function readUsedTokens({ client, nameOf }: Backend, conversation: string): Promise<number> {
  return (await readIfAny(client.breakdown(nameOf(conversation))))?.window.usedTokens ?? 0;
}

function writeOwn({ instructions = '', tools = [], answer }: TurnOwn): string {
  const described = [...tools, ...(answer === undefined ? [] : [answer.schema])];
  return [instructions, ...described.map((one) => JSON.stringify(one))].filter((text) => text !== '').join('\n');
}
