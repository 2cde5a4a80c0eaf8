import { signal } from '@preact/signals';

/** The key stays in this tab, and ends with it. */
const ITEM = 'turnfold.key';

/** Access key that every request carries. Empty for a server without keys. */
export const accessKey = signal(sessionStorage.getItem(ITEM) ?? '');

/** Why a key is asked for, in the words of the server. Undefined while no key is needed. */
export const keyWanted = signal<string | undefined>(undefined);

export function saveKey(key: string): void {
  sessionStorage.setItem(ITEM, key);
  accessKey.value = key;
  keyWanted.value = undefined;
}

export function forgetKey(): void {
  sessionStorage.removeItem(ITEM);
  accessKey.value = '';
}
