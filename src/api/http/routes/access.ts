import { accessSchema } from '../answers/access.ts';
import { defineRoute } from '../route.ts';

const showAccess = defineRoute({
  operation: 'showAccess',
  method: 'get',
  path: '/v1/access',
  scope: 'read',
  summary: 'Show what the caller may do, so that a page can say it before the caller tries.',
  result: accessSchema,
  handle: async ({ caller: { tenant, scopes }, isReadOnly }) => ({
    body: { tenant, scopes, ...(isReadOnly && { isReadOnly }) },
  }),
});

export const accessRoutes = [showAccess];
