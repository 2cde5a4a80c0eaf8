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
  #isSwallowing = false;

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

  /** What Redis answers from now on is lost, whatever it has done; then every connection is cut. */
  swallow(): void {
    this.#isSwallowing = true;
  }

  cut(): void {
    this.#isSwallowing = false;
    for (const { near, far } of this.#passages) {
      near.destroy();
      far.destroy();
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
      if (!this.#isSwallowing) near.write(piece);
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
