/** Result of one check, with advice if something is wrong. Both texts are free of secrets. */
export interface Finding {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'wrong';
  readonly what: string;
  readonly remedy?: string;
}

export function findOk(name: string, what: string): Finding {
  return { name, state: 'ok', what };
}

/** The check passed, but a person should act soon. */
export function findWarning(name: string, what: string, remedy: string): Finding {
  return { name, state: 'warning', what, remedy };
}

export function findWrong(name: string, what: string, remedy: string): Finding {
  return { name, state: 'wrong', what, remedy };
}

export function worstState(findings: readonly Finding[]): Finding['state'] {
  const states = new Set(findings.map(({ state }) => state));
  return states.has('wrong') ? 'wrong' : states.has('warning') ? 'warning' : 'ok';
}
