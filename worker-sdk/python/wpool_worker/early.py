"""Control lines that come before the task that they name."""

from __future__ import annotations

from typing import Dict, List, Optional


class EarlyRequests:
    """What is kept of them until the task begins; at most `limit` at a time, because they are only advice."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._last_id = 0  # of the tasks that have begun; ids are counted up
        self._requests: Dict[int, List[bytes]] = {}

    def add(self, request: bytes, task_id: int) -> None:
        """Keep it unless the task has begun."""
        if task_id <= self._last_id:
            return
        kept = self._requests.setdefault(task_id, []) if len(self._requests) < self._limit else self._requests.get(task_id)
        if kept is not None and request not in kept:
            kept.append(request)

    def take(self, task_id: Optional[int]) -> List[bytes]:
        """Return what was asked of the task, which begins now; forget what can be for none any more."""
        if task_id is None or task_id <= self._last_id:
            return []
        self._last_id = task_id
        if not self._requests:
            return []
        taken = self._requests.pop(task_id, [])
        self._requests = {number: kept for number, kept in self._requests.items() if number > task_id}
        return taken
