import {evaluate} from './ev.mjs';import {make} from './compose.mjs';
for(const cv of ['fam','half'])for(const tau of [0.8,1.1])evaluate(make({tau},cv),{name:cv+' '+tau});
