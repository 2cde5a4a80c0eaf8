/** Why Redis cannot be used now, in the words that callers and operators see. */
interface OutageCause {
  readonly words: string;
  readonly remedy: string;
  /** True if the server answers reads and refuses writes. */
  readonly takesNoWrites: boolean;
}

type Row = readonly [pattern: RegExp, words: string, remedy: string];

const MAKE_MASTER =
  'Point REDIS_URL at the master, or at Sentinels that know it. To make this server the master, run REPLICAOF NO ONE.';
const CHECK_CLUSTER = 'Run redis-cli --cluster check, and start the nodes that are missing.';
const CHECK_NETWORK = 'Check Redis, and the network between this machine and Redis.';
const START = 'Start Redis, or correct REDIS_URL (or --redis).';

/** Known causes. The first match counts: ioredis derives errors from network errors, so network errors come first. */
const OUTAGES: readonly Row[] = [
  [/ECONNREFUSED/, 'no server accepts connections (ECONNREFUSED)', START],
  [/ENOTFOUND/, 'the host name in its URL is unknown (ENOTFOUND)', 'Correct the host in REDIS_URL (or --redis).'],
  [
    /EAI_AGAIN/,
    'the host name in its URL cannot be looked up now (EAI_AGAIN)',
    'Check the name servers of this machine.',
  ],
  [
    /EHOSTUNREACH|ENETUNREACH/,
    'there is no route to its host (EHOSTUNREACH)',
    'Check the network and its firewalls, and the host in REDIS_URL.',
  ],
  [
    /LOADING/,
    'it is loading its data (LOADING)',
    'Wait until Redis has loaded its data. INFO persistence shows the progress (loading_eta_seconds).',
  ],
  [
    /BUSY Redis/,
    'a script keeps it busy (BUSY)',
    'SLOWLOG GET names the script. SCRIPT KILL ends a script that has written nothing.',
  ],
  [/MASTERDOWN/, 'it is a replica that has lost its master (MASTERDOWN)', `Start its master. ${MAKE_MASTER}`],
  [
    /UNBLOCKED/,
    'it changed its role between master and replica during the call (UNBLOCKED)',
    `A failover needs no action. Otherwise: ${MAKE_MASTER}`,
  ],
  [
    /max number of clients/,
    'it has as many clients as its maxclients allows',
    'Raise maxclients, or stop other clients. CLIENT LIST names them. docs/how-to/scale-out.md has the connections of each process.',
  ],
  [
    /sentinels are unreachable/,
    'no Sentinel knows a master of that name',
    'Check that the Sentinels run, and that SENTINEL MASTERS lists the name in REDIS_URL.',
  ],
  [/CLUSTERDOWN/, 'the Cluster serves no requests now (CLUSTERDOWN)', CHECK_CLUSTER],
  [
    /TRYAGAIN|^ASK \d|Too many Cluster redirections|startup nodes|slots cache|Cluster isn't ready|No master node/,
    'no node of the Cluster answers for these keys',
    CHECK_CLUSTER,
  ],
  [/ETIMEDOUT|Socket timeout|Command timed out/, 'there was no answer in time', CHECK_NETWORK],
  [/ECONN|EPIPE|connection close|connection ended/i, 'the connection was lost', CHECK_NETWORK],
  [
    /Connection is closed|isn't writeable|max retries per request|(Cluster|Node) is (ended|disconnect)/,
    'there is no connection to it',
    START,
  ],
];

const REFUSED_WRITES: readonly Row[] = [
  [/READONLY/, 'it is a replica (READONLY)', MAKE_MASTER],
  [
    /MISCONF/,
    'it cannot save to its disk (MISCONF)',
    'Free space on the disk of Redis, and check its log. Redis accepts writes again after its next successful save.',
  ],
  [
    /NOREPLICAS/,
    'fewer replicas are connected than its min-replicas-to-write asks for (NOREPLICAS)',
    'Bring the replicas back, or lower min-replicas-to-write.',
  ],
];

/** @param said code and message of the error */
export function findOutageCause(said: string): OutageCause | undefined {
  return findRow(REFUSED_WRITES, said, true) ?? findRow(OUTAGES, said, false);
}

function findRow(rows: readonly Row[], said: string, takesNoWrites: boolean): OutageCause | undefined {
  const row = rows.find(([pattern]) => pattern.test(said));
  if (row === undefined) return undefined;
  const [, words, remedy] = row;
  // The address distinguishes several servers. Node writes it after the code, as in `connect ECONNREFUSED
  // 10.0.0.1:6379`.
  const [, address] = /\bE[A-Z]+ (\S+:\d+)$/.exec(said) ?? [];
  return { words: address === undefined ? words : `${words} at ${address}`, remedy, takesNoWrites };
}
