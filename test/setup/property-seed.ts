import * as fc from 'fast-check';

/**
 * Every property tries the same inputs in every run, so that a change fails only for what it changed. `PROPERTY_SEED=<n>`
 * tries other inputs.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['PROPERTY_SEED'] ?? 1) });
