import { describeBothStores } from './contract/store.ts';

describeBothStores('spending');
