import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const ITEM = 'turnfold.key';

/** Access key that every request carries. Empty for a server without keys. */
export const accessKey = signal(sessionStorage.getItem(ITEM) ?? '');

/** Error of the server about the key that the page sent. Empty if the page sent none. Undefined if no key is needed. */
export const keyWanted = signal<string | undefined>(undefined);

function saveKey(key: string): void {
  sessionStorage.setItem(ITEM, key);
  accessKey.value = key;
  keyWanted.value = undefined;
}

export function forgetKey(): void {
  sessionStorage.removeItem(ITEM);
  accessKey.value = '';
}

export function KeyForm({ why }: { readonly why: string }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = (event: Event): void => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? '';
    if (key !== '') saveKey(key);
  };
  return (
    <form class="key-form" onSubmit={send}>
      <h1>This server needs an access key</h1>
      <p id="key-hint">
        Create one with <code>turnfold keys create --scopes read</code>. The key stays in this tab until you close it.
      </p>
      <label for="key">Access key</label>
      <input
        ref={field}
        id="key"
        type="password"
        autocomplete="off"
        spellcheck={false}
        aria-describedby="key-hint"
        required
      />
      {why !== '' && (
        <p class="field-error" role="alert">
          {why}
        </p>
      )}
      <button type="submit" class="button button-main">
        Open the inspector
      </button>
    </form>
  );
}
