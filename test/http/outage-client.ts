import type { Fixture } from '../client/fixture.ts';

/** A client whose next accepted messages meet the given errors, as in an outage. Each error is used once. */
export function withOutages({ client }: Fixture, outages: Error[]): Fixture['client'] {
  return {
    ...client,
    enqueueTurn: async (input) => {
      const outage = outages.shift();
      if (outage !== undefined) throw outage;
      return await client.enqueueTurn(input);
    },
  };
}

/** A client that calls a function after each read of a turn. */
export function withReadNotice(client: Fixture['client'], notice: () => void): Fixture['client'] {
  return { ...client, result: async (...call) => await client.result(...call).finally(notice) };
}
