/** Id of a message of a turn: the front-end returns the id, and so the turn. */
export function nameMessage(turn: string, rest: string): string {
  return `${turn}/${rest}`;
}

/** Returns the turn of a message or an interrupt. */
export function turnOf(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf('/')));
}

/** Returns the name of the call of an interrupt, as `nameCall` wrote it. */
export function callOf(interrupt: string): string {
  return interrupt.slice(interrupt.indexOf('/') + 1);
}
