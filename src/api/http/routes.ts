import type { Route } from './route.ts';
import { accessRoutes } from './routes/access.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { eventRoutes } from './routes/events.ts';
import { fleetRoutes } from './routes/fleet.ts';
import { inspectionRoutes } from './routes/inspection.ts';
import { messageRoutes } from './routes/messages.ts';
import { enqueueTurns } from './routes/turn-list.ts';
import { turnRoutes } from './routes/turns.ts';
import { versionRoutes } from './routes/versions.ts';

/** Every route, in the order of the OpenAPI document. */
export const routes: readonly Route[] = [
  ...turnRoutes,
  enqueueTurns,
  ...eventRoutes,
  ...messageRoutes,
  ...conversationRoutes,
  ...versionRoutes,
  ...accessRoutes,
  ...inspectionRoutes,
  ...fleetRoutes,
];
