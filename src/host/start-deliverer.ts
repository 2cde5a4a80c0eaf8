import { setTimeout as sleep } from 'node:timers/promises';
import { Deliverer } from '../api/webhooks/deliverer.ts';
import { createWebhookSender } from '../api/webhooks/sender.ts';
import type { EventListener } from '../domain/events.ts';
import type { WebhookStore } from '../store/webhooks.ts';
import { systemTimers } from '../workers/timers.ts';
import { systemClock } from './system.ts';

export interface DelivererTerms {
  readonly store: WebhookStore;
  readonly owner: string;
  readonly onEvent: EventListener;
  readonly allowPrivate: boolean;
}

const INTERVAL_MS = 1_000;
/** How long a close waits until requests in flight are given back. Otherwise their claims end after 30 s. */
const END_MS = 1_000;

/** Starts to deliver webhooks, once a second, while this process has the lease. */
export function startDeliverer({ store, owner, onEvent, allowPrivate }: DelivererTerms): { close(): Promise<void> } {
  const sender = createWebhookSender({ allowsPrivate: allowPrivate });
  const deliverer = new Deliverer({ store, sender, clock: systemClock, onEvent, owner });
  let isClosed = false;
  const timer = systemTimers.every(INTERVAL_MS, async () => {
    try {
      await deliverer.lookForDeliveries();
    } catch (error) {
      if (!isClosed) onEvent({ type: 'worker_failed', where: 'webhooks', error });
    }
  });
  return {
    async close() {
      isClosed = true;
      timer.stop();
      await Promise.race([deliverer.stop(), sleep(END_MS, undefined, { ref: false })]);
      await sender.close();
    },
  };
}
