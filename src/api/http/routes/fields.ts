import { z } from 'zod';

/** Maximum time that a request may ask to wait, in ms. Proxies often end a request after 60 s. */
export const MAX_WAIT_MS = 60_000;

export function limitOf(most: number) {
  return z.coerce.number().int().min(1).max(most).default(100).describe('Maximum number of items.');
}

/** Parameters of a list with pages. */
export const pageFields = {
  after: z.string().max(1_000).optional().describe('`next` of the previous page. Absent: the first page.'),
  limit: limitOf(1_000),
};

/** Removes the tenant from an answer, because a caller has only one. */
export function hideTenant<Named extends { readonly tenant: string }>({
  tenant: _,
  ...rest
}: Named): Omit<Named, 'tenant'> {
  return rest;
}
