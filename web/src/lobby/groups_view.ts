// Groups of the lobby: the player's own, and open ones.

import type { Group, Membership } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import { Drawn, action, badge, group, menu, text, userText } from "./drawing.ts";
import type { GroupList } from "./groups.ts";
import { countText } from "./texts.ts";

const ROLE_TEXTS = { superadmin: " · owner", admin: " · admin", member: "", join_request: "" } as const;

export interface GroupsViewEvents {
  /** Opens the chat of a group. */
  chat(group: Group): void;
  /** The player is not a member any more. */
  gone(group: Group): void;
}

export class GroupsView {
  private readonly groups: GroupList;
  private readonly events: GroupsViewEvents;
  private readonly part = element("group-new", HTMLDetailsElement);
  private readonly form = element("group-form", HTMLFormElement);
  private readonly name = element("group-name", HTMLInputElement);
  private readonly description = element("group-description", HTMLInputElement);
  private readonly error = element("group-error", HTMLElement);
  private readonly drawn = new Drawn();

  constructor(groups: GroupList, events: GroupsViewEvents) {
    this.groups = groups;
    this.events = events;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.create();
    });
  }

  show(isConnected: boolean): void {
    const { own, others, error, isBusy } = this.groups;
    const isReady = isConnected && !isBusy;
    button("group-create").disabled = !isReady;
    const ownList = element("group-own", HTMLElement);
    this.drawn.draw(ownList, (own ?? []).map(({ group: each, role }) => [role, keyOf(each)]), () => (own ?? []).map((each) => this.ownGroup(each)));
    const otherList = element("group-others", HTMLElement);
    this.drawn.draw(otherList, others.map(keyOf), () => others.map((each) => this.otherGroup(each)));
    for (const list of [ownList, otherList]) for (const press of list.querySelectorAll("button")) press.disabled = !isReady;
    element("group-others-part", HTMLElement).hidden = others.length === 0;
    element("group-empty", HTMLElement).hidden = own === undefined ? false : own.length + others.length > 0;
    const hint = "No groups yet. Create one, and others can join it.";
    write(element("group-empty-text", HTMLElement), own === undefined ? (error ?? "Looking for groups…") : hint);
  }

  private ownGroup({ group: each, role }: Membership): HTMLElement {
    const row = this.row(each, ROLE_TEXTS[role]);
    row.append(action("Chat", `Chat with ${each.name}`, "small", () => this.events.chat(each)));
    const isOwner = role === "superadmin";
    const go = isOwner
      ? action("Delete", `Delete the group ${each.name}`, "danger", () => void this.groups.delete(each).then(() => this.events.gone(each)))
      : action("Leave", `Leave the group ${each.name}`, "", () => void this.groups.leave(each).then(() => this.events.gone(each)));
    row.append(menu(`More for ${each.name}`, go));
    return row;
  }

  private otherGroup(each: Group): HTMLElement {
    const row = this.row(each, "");
    row.append(action("Join", `Join the group ${each.name}`, "small", () => void this.groups.join(each)));
    return row;
  }

  private row(each: Group, role: string): HTMLElement {
    const about = group("div", "about", userText("span", "name", each.name));
    if (each.description !== "") about.append(userText("span", "description", each.description));
    about.append(text("span", "chip", `${countText(each.members, "member")}${role}`));
    const row = group("li", "person group", badge(each.name, each.id), about);
    row.dataset["group"] = each.id;
    return row;
  }

  private async create(): Promise<void> {
    const name = this.name.value.trim();
    if (name === "") {
      this.name.focus();
      return write(this.error, "Enter a name for the group.");
    }
    const error = await this.groups.create(name, this.description.value.trim());
    write(this.error, error ?? "");
    if (error !== undefined) return this.name.focus();
    this.form.reset();
    this.part.open = false;
    this.part.querySelector("summary")?.focus();
  }
}

function keyOf({ id, name, description, members }: Group): readonly unknown[] {
  return [id, name, description, members];
}
