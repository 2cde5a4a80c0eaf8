import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A connection through the proxy. */
interface Passage {
  readonly near: Socket;
  readonly far: Socket;
}

/** Stands between clients and Redis: it can lose replies, and cut what is connected. */
export class FaultyProxy {
  readonly #server: Server;
  readonly #passages = new Set<Passage>();
  #isLost: (reply: string) => boolean = () => false;

  private constructor(targetPort: number) {
    this.#server = createServer((near) => this.#join(near, connect(targetPort, '127.0.0.1')));
  }

  static async listen(targetPort: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(targetPort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What Redis answers from now on is lost, whatever it has done, until every connection is cut. @param isLost where only some is */
  swallow(isLost: (reply: string) => boolean = () => true): void {
    this.#isLost = isLost;
  }

  /** Cuts every connection; answers come again, unless some are lost still. */
  cut(options: { readonly isStillLossy?: boolean } = {}): void {
    if (options.isStillLossy !== true) this.#isLost = () => false;
    for (const { near, far } of this.#passages) {
      near.destroy();
      far.destroy();
    }
  }

  /** As where the machine behind an address has gone: who is connected gets no word any more, and whoever comes is served. */
  abandon(): void {
    for (const { near, far } of this.#passages) {
      for (const socket of [near, far]) socket.removeAllListeners('data').resume();
    }
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket, far: Socket): void {
    const passage = { near, far };
    this.#passages.add(passage);
    near.on('data', (piece) => far.write(piece));
    far.on('data', (piece) => {
      if (!this.#isLost(piece.toString('latin1'))) near.write(piece);
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        other.destroy();
        this.#passages.delete(passage);
      });
    }
  }
}
