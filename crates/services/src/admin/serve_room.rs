//! Handlers of the operations on rooms. Mutations are audited before they are done.

use super::room::{
    CreateRoom, CreateRoomRequest, EndRoom, GetDrain, GetRoom, ListRecordings, ListRoomEntities,
    ListRoomEntitiesRequest, ListRooms, ListRoomsRequest, NoRequest, RecordingList, RoomDetail, RoomEntityList,
    RoomList, RoomRequest, ShownDrain, ShownRecording, ShownRoom, SignalData, SignalRoom, SignalRoomRequest,
    StartDrain, StartRoomRecording, StopDrain, StopRoomRecording, WakeRoom,
};
use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use crate::error::ServiceError;
use crate::matches::NewMatch;
use aether_messages::Operation;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use uuid::Uuid;

/// Maximum bytes of a signal of an operator: what a mailbox message of a room may have.
const SIGNAL_BYTES_MAX: usize = 65_536;
/// Maximum bytes of a label in the audit.
const DETAIL_BYTES_MAX: usize = 200;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ListRooms>()
        .with::<CreateRoom>()
        .with::<GetRoom>()
        .with::<ListRoomEntities>()
        .with::<WakeRoom>()
        .with::<SignalRoom>()
        .with::<EndRoom>()
        .with::<StartRoomRecording>()
        .with::<StopRoomRecording>()
        .with::<ListRecordings>()
        .with::<GetDrain>()
        .with::<StartDrain>()
        .with::<StopDrain>()
}

impl Serve for ListRooms {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: ListRoomsRequest) -> Result<RoomList, ServiceError> {
        call.services.room_operator()?.list_rooms(&request).await
    }
}

impl Serve for GetRoom {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: RoomRequest) -> Result<RoomDetail, ServiceError> {
        call.services.room_operator()?.room(named(&request.room)?).await
    }
}

impl Serve for ListRoomEntities {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, request: ListRoomEntitiesRequest) -> Result<RoomEntityList, ServiceError> {
        named(&request.room)?;
        call.services.room_operator()?.entities(&request).await
    }
}

impl Serve for CreateRoom {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: CreateRoomRequest) -> Result<ShownRoom, ServiceError> {
        let operator = call.services.room_operator()?;
        let CreateRoomRequest { room_type, label, private, record } = request;
        if room_type.is_empty() {
            return Err(ServiceError::invalid("Name the room type: `{\"type\": \"…\"}`."));
        }
        audit::<CreateRoom>(call, &format!("{room_type} {label}")).await?;
        let new = NewMatch { match_type: room_type, label, private, ..NewMatch::default() };
        operator.create_room(&new, record).await
    }
}

impl Serve for WakeRoom {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: RoomRequest) -> Result<ShownRoom, ServiceError> {
        let operator = call.services.room_operator()?;
        audit::<WakeRoom>(call, named(&request.room)?).await?;
        operator.wake(&request.room).await
    }
}

impl Serve for SignalRoom {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: SignalRoomRequest) -> Result<SignalData, ServiceError> {
        let operator = call.services.room_operator()?;
        let data = STANDARD.decode(request.signal.unwrap_or_default().data);
        let data = data.map_err(|_| ServiceError::invalid("`data` of a signal must be base64."))?;
        if data.len() > SIGNAL_BYTES_MAX {
            return Err(ServiceError::invalid(format!("A signal has at most {SIGNAL_BYTES_MAX} bytes.")));
        }
        audit::<SignalRoom>(call, named(&request.room)?).await?;
        let reply = operator.signal(&request.room, data).await?;
        Ok(SignalData { data: STANDARD.encode(reply) })
    }
}

impl Serve for EndRoom {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: RoomRequest) -> Result<ShownRoom, ServiceError> {
        let operator = call.services.room_operator()?;
        let shown = operator.room(named(&request.room)?).await?.room.unwrap_or_default();
        audit::<EndRoom>(call, &request.room).await?;
        operator.end(&request.room).await?;
        Ok(ShownRoom { state: "unloading".to_owned(), ..shown })
    }
}

impl Serve for StartRoomRecording {
    const ACCESS: Access = Access::Manage;
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, request: RoomRequest) -> Result<ShownRecording, ServiceError> {
        let operator = call.services.room_operator()?;
        audit::<StartRoomRecording>(call, named(&request.room)?).await?;
        operator.start_recording(&request.room).await
    }
}

impl Serve for StopRoomRecording {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: RoomRequest) -> Result<ShownRecording, ServiceError> {
        let operator = call.services.room_operator()?;
        audit::<StopRoomRecording>(call, named(&request.room)?).await?;
        operator.stop_recording(&request.room).await
    }
}

impl Serve for ListRecordings {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, _request: NoRequest) -> Result<RecordingList, ServiceError> {
        call.services.room_operator()?.recordings().await
    }
}

impl Serve for GetDrain {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, _request: NoRequest) -> Result<ShownDrain, ServiceError> {
        Ok(call.services.room_operator()?.drain())
    }
}

impl Serve for StartDrain {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, _request: NoRequest) -> Result<ShownDrain, ServiceError> {
        let operator = call.services.room_operator()?;
        audit::<StartDrain>(call, "").await?;
        Ok(operator.set_draining(true))
    }
}

impl Serve for StopDrain {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, _request: NoRequest) -> Result<ShownDrain, ServiceError> {
        let operator = call.services.room_operator()?;
        audit::<StopDrain>(call, "").await?;
        Ok(operator.set_draining(false))
    }
}

/// Stores what is about to be done. It is about no account.
async fn audit<O: Operation>(call: &Call<'_>, detail: &str) -> Result<(), ServiceError> {
    let detail = &detail[..detail.floor_char_boundary(DETAIL_BYTES_MAX)];
    call.services.audit.write(call.caller(), Uuid::nil(), O::NAME, detail).await
}

fn named(room: &str) -> Result<&str, ServiceError> {
    match room {
        "" => Err(ServiceError::invalid("Name the room by its id.")),
        room if room.contains('\0') => Err(ServiceError::invalid("The id of a room has no U+0000.")),
        room => Ok(room),
    }
}
