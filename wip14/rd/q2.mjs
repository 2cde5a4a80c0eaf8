import {sweep2} from './ev2.mjs';
sweep2('proto u.2 t.3',{users:0.2,tail:0.3},{taus:[0.8,0.9,1.0]});
