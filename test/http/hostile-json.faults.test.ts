import { afterAll, beforeAll, expect, test } from 'vitest';
import { talk } from '../client/fixture.ts';
import { HOSTILE_TEXTS } from '../fakes/hostile-texts.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';
import { PLACES, postHostile } from './hostile-requests.ts';
import { OutsidePoster } from './outside-poster.ts';
import { withProtocols } from './random-requests.ts';

const TIMEOUT_MS = 900_000;
/** The largest body, and a body below the limit of values. */
const SIZES = [4_000_000, 250_000];

let http: HttpFixture;
let url: string;
const poster = new OutsidePoster();
beforeAll(async () => {
  http = await openHttpFixture();
  await http.client.append({ conversation: 'c1', agent: 'talker', messages: talk(4) });
  ({ url } = await http.serve(withProtocols(http.client)));
});
afterAll(async () => {
  await poster.close();
  await http.close();
});

test(
  'JSON of any shape and up to 4 MB in any field blocks the event loop only briefly and takes little memory',
  async () => {
    for (const { name, path, wrap } of PLACES) {
      for (const shape of HOSTILE_TEXTS) {
        for (const bytes of SIZES) {
          const body = Buffer.from(wrap(shape.write(bytes)));
          await postHostile(poster, url + path, body, `${shape.name} of ${bytes} bytes as ${name}`);
        }
      }
    }
    expect(http.defects).toEqual([]);
  },
  TIMEOUT_MS,
);
