import { seqOfCallId } from '../../domain/ids.ts';
import type { StepRecord } from '../../domain/turn.ts';
import type { RecordedSteps } from '../../store/recorded-steps.ts';
import { type ConversationName, readConversationName, readTurnId } from '../contract/names.ts';
import type { TurnStep, TurnSteps } from '../contract/turn-steps.ts';
import { noTurn } from './client-errors.ts';
import type { ClientPorts } from './ports.ts';

/** @throws invalid_input for an invalid id. not_found if the turn does not exist. */
export async function readTurnSteps(ports: ClientPorts, name: ConversationName, turn: string): Promise<TurnSteps> {
  const conversation = readConversationName(name);
  const [view, recorded] = await Promise.all([
    ports.turns.readTurn(conversation, readTurnId(turn)),
    ports.turns.readSteps(conversation, turn),
  ]);
  if (view === undefined || recorded === undefined) throw noTurn(conversation, turn);
  const { inputSeq } = view;
  const range = inputSeq === undefined ? [] : [{ from: inputSeq, to: inputSeq }];
  const [input] = range.length === 0 ? [] : await ports.contexts.readLog(conversation, range);
  return {
    ...(input !== undefined && { begunAt: input.at }),
    steps: orderSteps(recorded.steps, input?.at),
    ...(recorded.claim !== undefined && { claim: recorded.claim }),
  };
}

const MODEL = 'model-';
const TOOL = 'tool-';

interface ModelCall {
  readonly number: number;
  readonly record: StepRecord;
}

/** Orders the records of calls. Markers of waits are left out. */
function orderSteps(records: RecordedSteps['steps'], begunAt: number | undefined): TurnStep[] {
  const calls: { readonly id: string; readonly record: StepRecord }[] = [];
  const models: ModelCall[] = [];
  for (const [key, record] of records) {
    if (key.startsWith(TOOL)) calls.push({ id: key.slice(TOOL.length), record });
    else if (key.startsWith(MODEL)) models.push({ number: Number(key.slice(MODEL.length)), record });
  }
  models.sort((one, other) => one.number - other.number);
  const steps: TurnStep[] = [];
  let before = begunAt;
  for (const { number, record } of models) {
    steps.push(describeStep({ step: number }, record, before));
    before = record.at;
    const made = calls.filter(({ id }) => makes(record, id)).toSorted((one, other) => one.record.at - other.record.at);
    for (const { id, record: result } of made) {
      steps.push(describeStep({ step: number, call: id }, result, record.at));
      before = Math.max(before, result.at);
    }
  }
  return steps;
}

function makes(model: StepRecord, call: string): boolean {
  if (model.status === 'started' || model.seqs === undefined) return false;
  const seq = seqOfCallId(call);
  return seq >= model.seqs.from && seq <= model.seqs.to;
}

function describeStep(name: Pick<TurnStep, 'step' | 'call'>, record: StepRecord, before: number | undefined): TurnStep {
  const { status, at } = record;
  if (status === 'started') return { ...name, status, at };
  return {
    ...name,
    status,
    at,
    ...(before !== undefined && { tookMs: Math.max(0, at - before) }),
    ...record.seqs,
  };
}
