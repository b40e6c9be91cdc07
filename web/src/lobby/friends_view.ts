// Friends of the lobby: requests, friends with their state, and blocked users.

import type { Friend, FriendState, User } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import { Drawn, action, badge, group, menu, text, userText } from "./drawing.ts";
import type { FriendList } from "./friends.ts";
import { countText, nameOf } from "./texts.ts";

/** A friend as the page shows it. */
interface Shown {
  readonly friend: Friend;
  readonly status: string | undefined;
}

export interface FriendsViewEvents {
  /** Opens the chat with a friend. */
  chat(user: User): void;
  /** A user was removed or blocked. */
  gone(user: User): void;
}

export class FriendsView {
  private readonly friends: FriendList;
  private readonly events: FriendsViewEvents;
  private readonly form = element("friend-form", HTMLFormElement);
  private readonly field = element("friend-name", HTMLInputElement);
  private readonly error = element("friend-error", HTMLElement);
  private readonly drawn = new Drawn();

  constructor(friends: FriendList, events: FriendsViewEvents) {
    this.friends = friends;
    this.events = events;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.add();
    });
  }

  show(isConnected: boolean): void {
    const { friends } = this;
    const isReady = isConnected && !friends.isBusy;
    button("friend-add").disabled = !isReady;
    this.field.disabled = !isConnected;
    this.showList("friend-requests", "invite_received", isReady, (shown) => this.request(shown.friend));
    this.showList("friend-list", "friend", isReady, (shown) => this.friend(shown));
    this.showList("friend-sent", "invite_sent", isReady, (shown) => this.sent(shown.friend));
    this.showList("friend-blocked", "blocked", isReady, (shown) => this.blocked(shown.friend));
    const blocked = this.inState("blocked");
    element("friend-blocked-part", HTMLElement).hidden = blocked.length === 0;
    write(element("friend-blocked-title", HTMLElement), `${countText(blocked.length, "blocked player")}`);
    const online = this.inState("friend").filter(({ status }) => status !== undefined);
    write(element("friend-count", HTMLElement), online.length === 0 ? "" : `${online.length} online`);
    this.showEmpty();
  }

  private showEmpty(): void {
    const { all, error } = this.friends;
    const visible = (all ?? []).filter(({ state }) => state !== "blocked");
    element("friend-empty", HTMLElement).hidden = visible.length > 0;
    const hint = "No friends yet. Add someone by name, and chat and play together.";
    write(element("friend-empty-text", HTMLElement), all === undefined ? (error ?? "Looking for your friends…") : hint);
  }

  private inState(state: FriendState): Shown[] {
    const found = (this.friends.all ?? []).filter((friend) => friend.state === state);
    const shown = found.map((friend) => ({ friend, status: state === "friend" ? this.friends.statusOf(friend.user) : undefined }));
    // Those who are online come first.
    return shown.sort((one, other) => Number(other.status !== undefined) - Number(one.status !== undefined) || nameOf(one.friend.user).localeCompare(nameOf(other.friend.user)));
  }

  private showList(id: string, state: FriendState, isReady: boolean, row: (shown: Shown) => HTMLElement): void {
    const list = element(id, HTMLElement);
    const shown = this.inState(state);
    const contents = shown.map(({ friend: { user }, status }) => [user.id, user.displayName, user.username, status]);
    this.drawn.draw(list, contents, () => shown.map(row));
    list.hidden = shown.length === 0;
    for (const press of list.querySelectorAll("button")) press.disabled = !isReady;
  }

  private friend({ friend: { user }, status }: Shown): HTMLElement {
    const name = nameOf(user);
    const row = this.person(user, status === undefined ? "Offline" : status === "" ? "Online" : status, status !== undefined);
    const chat = action("Chat", `Chat with ${name}`, "small", () => this.events.chat(user));
    const remove = action("Remove", `Remove ${name} from your friends`, "", () => void this.friends.remove(user).then(() => this.events.gone(user)));
    row.append(chat, menu(`More for ${name}`, remove, this.blocking(user)));
    return row;
  }

  private request({ user }: Friend): HTMLElement {
    const name = nameOf(user);
    const row = this.person(user, "Friend request", undefined);
    row.classList.add("wanted");
    row.append(
      action("Accept", `Accept the friend request of ${name}`, "small main", () => void this.friends.accept(user)),
      menu(`More for ${name}`, action("Decline", `Decline the friend request of ${name}`, "", () => void this.friends.remove(user)), this.blocking(user)),
    );
    return row;
  }

  private sent({ user }: Friend): HTMLElement {
    const row = this.person(user, "Request sent", undefined);
    row.append(action("Cancel", `Take back the friend request to ${nameOf(user)}`, "quiet small", () => void this.friends.remove(user)));
    return row;
  }

  private blocked({ user }: Friend): HTMLElement {
    const row = this.person(user, "Blocked", undefined);
    row.append(action("Unblock", `Unblock ${nameOf(user)}`, "quiet small", () => void this.friends.remove(user)));
    return row;
  }

  private blocking(user: User): HTMLButtonElement {
    return action("Block", `Block ${nameOf(user)}`, "danger", () => void this.friends.block(user).then(() => this.events.gone(user)));
  }

  private person(user: User, about: string, isOnline: boolean | undefined): HTMLElement {
    const name = nameOf(user);
    const names = group("div", "about", userText("span", "name", name), group("span", "chip"));
    const chip = names.lastElementChild as HTMLElement;
    const isNamed = name !== user.username;
    if (isOnline !== undefined) chip.append(text("span", isOnline ? "dot on" : "dot", ""));
    // The name of the account cannot be that of another one; a display name can.
    if (isNamed) chip.append(userText("span", "", user.username));
    if (isNamed && isOnline !== undefined) chip.append("·");
    if (!isNamed || isOnline !== undefined) chip.append(userText("span", "", about));
    const row = group("li", "person", badge(name, user.id), names);
    row.dataset["user"] = user.id;
    return row;
  }

  private async add(): Promise<void> {
    const name = this.field.value.trim();
    if (name === "") {
      this.field.focus();
      return write(this.error, "Enter the name of a player.");
    }
    const error = await this.friends.add(name);
    write(this.error, error ?? "");
    if (error === undefined) this.field.value = "";
    this.field.focus();
  }
}
