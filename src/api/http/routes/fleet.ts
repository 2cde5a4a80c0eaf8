import { fleetSchema } from '../answers/fleet.ts';
import { checkOperator } from '../caller.ts';
import { HttpProblem } from '../problem.ts';
import { defineRoute } from '../route.ts';

const showFleet = defineRoute({
  operation: 'showFleet',
  method: 'get',
  path: '/v1/fleet',
  scope: 'admin',
  summary:
    'Show workers, queues, the last hour, quarantined records and failing webhooks, for an operator of all tenants.',
  result: fleetSchema,
  handle: async ({ fleet, caller }) => {
    checkOperator(caller);
    if (fleet !== undefined) return { body: await fleet() };
    const why = 'this server does not read the fleet. turnfold serve and turnfold inspect do';
    throw new HttpProblem('not_offered', why, { field: 'fleet' });
  },
});

export const fleetRoutes = [showFleet];
