interface TurnMessage {
  readonly role: string;
  readonly turn?: string | undefined;
  readonly at: number;
  readonly tokens: number;
  readonly start: string;
  readonly calls?: readonly string[] | undefined;
}

export interface TurnRow {
  readonly turn: string;
  readonly start: string;
  readonly messages: number;
  readonly calls: number;
  readonly tokens: number;
  readonly from: number;
  readonly to: number;
}

/** Lists turns, newest first. Messages that no turn wrote are left out. */
export function listTurns(messages: readonly TurnMessage[]): TurnRow[] {
  const rows = new Map<string, TurnRow>();
  for (const { turn, at, tokens, start, calls = [] } of messages) {
    if (turn === undefined) continue;
    const row = rows.get(turn) ?? { turn, start, messages: 0, calls: 0, tokens: 0, from: at, to: at };
    rows.set(turn, {
      ...row,
      messages: row.messages + 1,
      calls: row.calls + calls.length,
      tokens: row.tokens + tokens,
      to: at,
    });
  }
  return [...rows.values()].toReversed();
}
