"""Errors of the store."""

from __future__ import annotations

from fairline.errors.base import FairlineError


class StoreError(FairlineError):
    """The store failed or refused a call."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The store did not answer. The call may or may not have been carried out; a retry with the same client id or
    idempotency key is safe."""

    code = "store_unavailable"

    def __init__(self, problem: str, retry_after: float = 2) -> None:
        super().__init__(
            f"The store is unavailable: {problem.rstrip('.')}. Try again in {retry_after:g} s.", retry_after=retry_after
        )


class StoreOverloaded(StoreError):
    """Too many calls wait for the store; this one was not sent."""

    code = "store_overloaded"

    def __init__(self, waiting: int, retry_after: float = 1) -> None:
        super().__init__(
            f"{waiting:,} calls are waiting for the store; this one was not sent. Try again in {retry_after:g} s.",
            retry_after=retry_after,
        )


class StoreFolderInUse(StoreError):
    """Another running Fairline process uses the embedded store in this folder."""

    code = "store_folder_in_use"

    def __init__(self, folder: str, pid: int | None) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(
            f"The data folder {folder} is in use by {owner}. Stop it first, or choose another folder with --data."
        )


class StoreFolderUnfit(StoreError):
    """This folder cannot be used for an embedded store; `problem` says why, and `advice` what to do."""

    code = "store_folder_unfit"

    def __init__(self, folder: str, problem: str, advice: str) -> None:
        super().__init__(f"The data folder {folder} cannot be used: {problem}. {advice}")
        self.problem = problem
        self.advice = advice


class StoreNotSupported(StoreError):
    """Fairline cannot use this store address, or the server behind it."""

    code = "store_not_supported"
