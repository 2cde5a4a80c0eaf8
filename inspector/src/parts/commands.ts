export type ContextChange =
  | { readonly kind: 'restore'; readonly version: number; readonly newer: 'keep' | 'drop' }
  | { readonly kind: 'rollback'; readonly turn: string }
  | { readonly kind: 'fork'; readonly version: number; readonly to: string };

/** Returns the shell command of a change. Ids need no quotes, because they consist of letters, digits, `_`, `.` and `-`. */
export function commandOf(conversation: string, change: ContextChange): string {
  switch (change.kind) {
    case 'restore':
      return `turnfold restore ${conversation} --version ${change.version} --${change.newer}`;
    case 'rollback':
      return `turnfold rollback ${conversation} ${change.turn}`;
    case 'fork':
      return `turnfold fork ${conversation} ${change.to === '' ? '<new>' : change.to} --version ${change.version}`;
  }
}

/** `_` is the tenant that commands take by default. */
export function withTenant(command: string, tenant: string): string {
  return tenant === '_' ? command : `${command} --tenant ${tenant}`;
}
