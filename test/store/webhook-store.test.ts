import { describeBothStores } from './contract/store.ts';

describeBothStores('webhooks');
