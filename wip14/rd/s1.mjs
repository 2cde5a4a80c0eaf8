import {sweep} from './sweep.mjs';
sweep({rel:0},{taus:[0.01,0.02,0.03,0.05,0.08],name:'abs tau'});
sweep({},{name:'rel tau',full:true});
