/** What a TLS connection to Redis is made with, beside what Node has by itself. Texts, each in PEM. */
export interface RedisTls {
  /** whom to trust, instead of the authorities that Node knows; one certificate or several */
  readonly ca?: string;
  /** ours, where Redis asks for one, with those between it and its authority */
  readonly cert?: string;
  /** the key of `cert`, without a passphrase */
  readonly key?: string;
  /** whom the servers' certificates name, where that is not the host of the address: an IP, most often */
  readonly serverName?: string;
}

/** Where a Redis is, with what else it takes to reach it. */
export interface RedisLocation {
  /** of one server, of Sentinels or of a Cluster */
  readonly url: string;
  /** without effect unless the address is `rediss` */
  readonly tls?: RedisTls | undefined;
}
