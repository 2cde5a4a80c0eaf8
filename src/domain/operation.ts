/**
 * Names an operation for the store: its id, and the hash of its payload. The store refuses the id with another hash. Ids
 * contain no slash.
 */
export function nameOperation(id: string, payloadHash: string): string {
  return `${id}/${payloadHash}`;
}

/** Returns the id of an operation from its name. */
export function operationId(operation: string): string {
  return operation.split('/', 1)[0] ?? '';
}
