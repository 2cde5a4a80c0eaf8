import { useChat as useChat7 } from '@ai-sdk/react';
import { useChat as useChat5 } from '@ai-sdk/react5';
import { useChat as useChat6 } from '@ai-sdk/react6';
import { createElement } from 'react';
// @ts-expect-error The package has no types of its own.
import * as untyped from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { type DurableChatOptions, useDurableChat } from '../../src/chat/react/index.ts';
import type { TransportMessage } from '../../src/chat/transport-types.ts';

const { renderToString } = untyped as { readonly renderToString: (element: unknown) => string };

type UseChat = DurableChatOptions<TransportMessage>['useChat'];
const versions: readonly (readonly [5 | 6 | 7, UseChat])[] = [
  [5, useChat5 as unknown as UseChat],
  [6, useChat6 as unknown as UseChat],
  [7, useChat7 as unknown as UseChat],
];

describe('useDurableChat', () => {
  test.each(versions)(
    'the hook renders a chat that loads, also on a server, with useChat of AI SDK %i',
    (sdkVersion, useChat) => {
      function Page() {
        const { status, messages } = useDurableChat({ id: 'c1', useChat, sdkVersion });
        return `${status} ${messages.length}`;
      }
      expect(renderToString(createElement(Page))).toBe('loading 0');
    },
  );
});
