// Commands that every room understands, independent of its game.

import { AetherError } from "../../error.ts";
import type { Fields } from "../core.ts";
import type { WasmModule } from "./module.ts";

type Native = InstanceType<WasmModule["bindings"]["Core"]>;

/** Sends a built-in command. Returns its number, or 0 if it cannot be sent now. Throws if there is no such command. */
export function sendBuiltIn(native: Native, feature: string, action: string, fields: Fields): number {
  switch (`${feature}.${action}`) {
    case "playground.spawn":
      return native.playgroundSpawn(String(fields.kind ?? ""), numberOf(fields, "x"), numberOf(fields, "y"), numberOf(fields, "rotation"));
    case "playground.clear":
      return native.playgroundClear();
    case "playground.stress":
      return native.playgroundStress(numberOf(fields, "count"), fields.rotate === true);
    case "movement.spawn_request": {
      const position = fields.position as { x: number; y: number } | undefined;
      return native.requestSpawn(position?.x, position?.y);
    }
    case "system.manifest":
      return native.requestManifest();
    default:
      throw new AetherError("unknown_command", `The game has no command \`${feature}.${action}\`.`);
  }
}

function numberOf(fields: Fields, name: string): number {
  const value = fields[name] ?? 0;
  if (!Number.isFinite(value)) throw new TypeError(`${name} must be a number.`);
  return value as number;
}
