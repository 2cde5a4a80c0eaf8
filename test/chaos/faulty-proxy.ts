import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Passage {
  readonly near: Socket;
  readonly far: Socket;
}

/** A proxy in front of Redis that can lose replies and cut connections. */
export class FaultyProxy {
  readonly #server: Server;
  readonly #passages = new Set<Passage>();
  #isLost: (reply: string) => boolean = () => false;
  /** Number of connections since the start. */
  opened = 0;

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

  /** Loses the replies of Redis until `cut`. The commands still take effect. @param isLost selects replies (default: all) */
  swallow(isLost: (reply: string) => boolean = () => true): void {
    this.#isLost = isLost;
  }

  /** Cuts every connection. New connections lose no replies, unless `isStillLossy`. */
  cut(options: { readonly isStillLossy?: boolean } = {}): void {
    if (options.isStillLossy !== true) this.#isLost = () => false;
    for (const { near, far } of this.#passages) {
      near.destroy();
      far.destroy();
    }
  }

  /** Silences all present connections without closing them, like a lost machine. New connections work. */
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
    this.opened += 1;
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
