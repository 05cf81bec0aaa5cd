// The page /train of the server takes along these scripts alone.

import { startKeys } from "./keys.js";
import { startTraining } from "./train.js";

startTraining();
startKeys();
