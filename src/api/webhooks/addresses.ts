import { lookup as resolveHost } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Special-purpose addresses of the IANA registries. Services behind a firewall have such addresses. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Special ranges inside 2000::/3. Everything outside 2000::/3 is special. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

const special = createList([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
const globalUnicast = createList(['2000::/3']);

function createList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  return family === 6 && globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';

  constructor() {
    super('the host has a private or special address');
  }
}

type Resolver = typeof resolveHost;

/** Connects only to an address that was checked. A second DNS lookup could return a private address. */
export function createCheckedLookup(
  isAllowed: (address: string) => boolean,
  resolve: Resolver = resolveHost,
): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const [first] = addresses;
      // One refused address refuses the host, because a later attempt may use another address of the host.
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        return callback(new RefusedAddressError(), []);
      }
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}
