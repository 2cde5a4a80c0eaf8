/** Makes an id under which a repeated change changes nothing. `randomUUID` is absent from pages over plain HTTP. */
export function newOperation(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
