/** Name of an operation for the store. The store refuses the id with another hash. Ids contain no slash. */
export function nameOperation(id: string, payloadHash: string): string {
  return `${id}/${payloadHash}`;
}

export function operationId(operation: string): string {
  return operation.split('/', 1)[0] ?? '';
}
