/** What a look at one thing has found, and what to do where it is not well. Neither text holds a secret. */
export interface Finding {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'wrong';
  readonly what: string;
  /** absent where there is nothing to do */
  readonly remedy?: string;
}

export function findOk(name: string, what: string): Finding {
  return { name, state: 'ok', what };
}

/** It works, and somebody should know all the same. */
export function findWarning(name: string, what: string, remedy: string): Finding {
  return { name, state: 'warning', what, remedy };
}

export function findWrong(name: string, what: string, remedy: string): Finding {
  return { name, state: 'wrong', what, remedy };
}

/** The worst of all; `ok` for none. */
export function worstState(findings: readonly Finding[]): Finding['state'] {
  const states = new Set(findings.map(({ state }) => state));
  return states.has('wrong') ? 'wrong' : states.has('warning') ? 'warning' : 'ok';
}
