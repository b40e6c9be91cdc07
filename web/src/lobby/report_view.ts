// Dialog for a report about a message of another player.

import type { ChatMessage } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import type { Tone } from "../shared/notices.ts";
import { visitor } from "../shared/visitor.ts";
import { errorText, messageText } from "./texts.ts";

export class ReportView {
  private readonly notice: (text: string, tone: Tone) => void;
  private readonly dialog = element("report", HTMLDialogElement);
  private readonly form = element("report-form", HTMLFormElement);
  private readonly category = element("report-category", HTMLSelectElement);
  private readonly words = element("report-text", HTMLInputElement);
  private readonly error = element("report-error", HTMLElement);
  private message: ChatMessage | undefined;

  constructor(notice: (text: string, tone: Tone) => void) {
    this.notice = notice;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.send();
    });
    button("report-cancel").addEventListener("click", () => this.dialog.close());
  }

  /** Asks what is wrong with a message. */
  open(message: ChatMessage): void {
    this.message = message;
    this.form.reset();
    write(this.error, "");
    write(element("report-name", HTMLElement), message.username);
    write(element("report-message", HTMLElement), messageText(message));
    this.dialog.showModal();
  }

  private async send(): Promise<void> {
    const { message } = this;
    if (message === undefined) return;
    const send = button("report-send");
    send.disabled = true;
    try {
      const { senderId: userId, channelId, id } = message;
      await visitor().reports.file({ userId, category: this.category.value, text: this.words.value.trim(), channelId, messageIds: [id] });
      this.dialog.close();
      this.notice("Your report was sent to the moderators.", "good");
    } catch (error) {
      write(this.error, errorText(error));
    } finally {
      send.disabled = false;
    }
  }
}
