import { endsSlice } from '../../domain/sliced.ts';
import type { Breach, RuleContext } from './rule.ts';
import { type BodyView, findOpenable, type ViewedCall, type ViewedResult } from './view.ts';

/** X1: every call has exactly one result, later than the call; every result has exactly one call; ids are unique and fit. */
export function* pairsCallsAndResults(view: BodyView, context: RuleContext): Generator<Breach | undefined> {
  const { maxIdLength = Number.POSITIVE_INFINITY } = view;
  const calls = new Map<string, ViewedCall>();
  for (const [index, call] of view.calls.entries()) {
    if (endsSlice(index)) yield undefined;
    if (calls.has(call.id)) yield { path: call.path, message: 'the id of this call stands twice' };
    else calls.set(call.id, call);
    if (call.id.length > maxIdLength) {
      yield { path: call.path, message: `an id of ${call.id.length} characters: at most ${maxIdLength}` };
    }
  }
  const answered = new Set<string>();
  for (const [index, { path, callId, position }] of view.results.entries()) {
    if (endsSlice(index)) yield undefined;
    const call = calls.get(callId);
    if (call === undefined) yield { path, message: 'this result answers no call' };
    else if (call.position >= position) yield { path, message: 'this result stands before its call' };
    if (answered.has(callId)) yield { path, message: 'the call of this result is answered twice' };
    answered.add(callId);
  }
  yield undefined;
  const openable = findOpenable(view, context);
  yield undefined;
  for (const call of calls.values()) {
    if (!answered.has(call.id) && !openable.has(call)) {
      yield { path: call.path, message: 'this call has no result' };
    }
  }
}

/** X2: the results of a parallel batch stand together or not at all. */
export function* keepsBatchesWhole(view: BodyView, context: RuleContext): Generator<Breach | undefined> {
  const answered = answeredIds(view.results);
  yield undefined;
  const openable = findOpenable(view, context);
  yield undefined;
  for (const [index, batch] of [...batches(view.calls)].entries()) {
    if (endsSlice(index)) yield undefined;
    const missing = batch.filter(({ id }) => !answered.has(id));
    const [first] = missing;
    if (first === undefined || missing.length === batch.length || openable.has(first)) continue;
    yield {
      path: first.path,
      message: `${missing.length} of the ${batch.length} calls of one answer lack their results`,
    };
  }
}

/** The ids that results name. */
export function answeredIds(results: readonly ViewedResult[]): ReadonlySet<string> {
  return new Set(results.map(({ callId }) => callId));
}

/** Calls by the answer that made them, in order. */
export function batches(calls: readonly ViewedCall[]): Iterable<readonly ViewedCall[]> {
  return Map.groupBy(calls, ({ answer }) => answer).values();
}
