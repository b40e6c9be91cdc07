// Player in the lobby, who chats and has friends.
import { LobbyPlayer } from "./lobby_player.mjs";

export class SocialPlayer extends LobbyPlayer {
  /** Waits until the page is connected and the chat of everyone is joined; returns the state. */
  async arrived() {
    await this.ready();
    return this.until("the chat and the friends are there", ({ chats, friends }) => chats[0].isJoined && friends !== undefined);
  }

  /** Sends a message in the selected chat. */
  async say(text) {
    await this.page.fill("#chat-text", text);
    await this.page.press("#chat-text", "Enter");
    await this.page.locator("#chat-messages .message.own").getByText(text, { exact: true }).last().waitFor();
  }

  /** Element of a message in the selected chat. */
  message(text) {
    return this.page.locator("#chat-messages .message", { hasText: text }).last();
  }

  /** Uses a button of an own message, which a pointer shows. */
  async onMessage(text, name) {
    const message = this.message(text);
    await message.hover();
    await message.getByRole("button", { name }).click();
  }

  /** Waits until a message is in a chat. */
  sees(text, chat = "Everyone") {
    return this.until(`"${text}" is in the chat ${chat}`, ({ chats }) => chats.some(({ title, messages }) => title === chat && messages.includes(text)));
  }

  /** Waits until a message is in no chat. */
  misses(text) {
    return this.until(`"${text}" is gone`, ({ chats }) => chats.every(({ messages }) => !messages.includes(text)));
  }

  async addFriend(name) {
    await this.page.fill("#friend-name", name);
    await this.page.click("#friend-add");
  }

  /** Waits until another user is in a state in the list. */
  hasFriend(name, state) {
    return this.until(`${name} is ${state}`, ({ friends }) => friends?.some((friend) => friend.name === name && friend.state === state));
  }

  /** Uses an entry of the menu of another user or a group. */
  async fromMenu(name, entry) {
    await this.page.getByLabel(`More for ${name}`).click();
    await this.page.getByRole("button", { name: entry }).click();
  }
}

/** Makes two players friends: the first invites, the second accepts. */
export async function befriend(first, second) {
  const [{ me: one }, { me: other }] = [await first.arrived(), await second.arrived()];
  await first.addFriend(other);
  await first.hasFriend(other, "invite_sent");
  await second.hasFriend(one, "invite_received");
  await second.page.getByRole("button", { name: `Accept the friend request of ${one}` }).click();
  await Promise.all([first.hasFriend(other, "friend"), second.hasFriend(one, "friend")]);
  return { one, other };
}
